# The notebooks in JupyterLab, with one command to make the image and one to start it:
#   docker build -t attention .
#   docker run --rm -p 127.0.0.1:8888:8888 attention
# The address to open, with its token, is printed. Practice copies live as long as the container; to
# keep them, add: -v attention-practice:/home/reader/attention/practice
FROM python:3.11-slim-bookworm

# bubblewrap is the sandbox of the report on a class.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 reader

USER reader
WORKDIR /home/reader/attention
# What the installation reads comes first, so that a changed notebook does not install anew.
COPY --chown=reader:reader README.md LICENSE pyproject.toml requirements.txt constraints.txt ./
COPY --chown=reader:reader attention_lib attention_lib
RUN python -m venv /home/reader/venv \
    && /home/reader/venv/bin/python -m pip install --no-cache-dir -c constraints.txt -r requirements.txt
COPY --chown=reader:reader . .
RUN python tools/practice.py

EXPOSE 8888
CMD ["/home/reader/venv/bin/python", "tools/lab.py", "--no-browser", "--ServerApp.ip=0.0.0.0", "--ServerApp.port=8888", "--ServerApp.port_retries=0"]
