//! What is seen of an image.

use bakeoff_devices::plug::{Contents, CrashImage};

use crate::model::Picture;

/// Every name with what it stands for.
pub fn picture(image: &CrashImage<'_>, contents: &dyn Contents) -> Result<Picture, String> {
    let mut picture = Picture::new();
    let mut to_visit = vec![(String::new(), image.root())];
    while let Some((path, ino)) = to_visit.pop() {
        let item = image.item(ino).ok_or(format!("{path} stands for nothing"))?;
        for (name, entry) in &item.entries {
            to_visit.push((format!("{path}/{}", name.display()), *entry));
        }
        let mut bytes = None;
        if let Some(content) = &item.content {
            let mut buffer = vec![0xEE; content.size() as usize + 10];
            let read =
                content.read(contents, 0, &mut buffer).map_err(|e| format!("{path}: {e}"))?;
            buffer.truncate(read);
            bytes = Some(buffer);
        }
        if picture.insert(path, (ino, item.attributes.mode, bytes)).is_some() || picture.len() > 999
        {
            return Err("the image is not a tree".into());
        }
    }
    Ok(picture)
}
